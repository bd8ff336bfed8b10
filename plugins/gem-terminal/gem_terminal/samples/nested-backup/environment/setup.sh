set -e
mkdir -p /app/backups && cd /tmp
day() {
  mkdir -p home && printf "$2" > home/ledger.txt && echo "notes of $1" > home/notes.txt
  tar --sort=name --mtime=2025-01-01 -cf home.tar home
  tar --mtime=2025-01-01 -czf "/app/backups/backup-$1.tar.gz" home.tar
  rm -r home home.tar
}
day 2025-02-26 'rent 700\n'
day 2025-03-01 'rent 700\nbread 4\n'
day 2025-02-28 'rent 700\nbread 3\n'
day 2025-03-02 'rent 700\nbread 4\nlamp 32\n'
day 2025-03-03 ''
day 2025-03-04 ''
touch -d 2025-03-09 /app/backups/backup-2025-02-26.tar.gz
