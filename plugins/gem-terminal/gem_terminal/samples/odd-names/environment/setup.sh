set -e
mkdir -p /tmp/up && cd /tmp/up
mkdir -p "a b" c
printf 'one\n' > "./-rf"
printf 'two\n' > "a b/my report (final).txt"
printf 'three\n' > "c/my  report final .txt"
printf 'four\n' > "my_report_final_.txt"
printf 'five\n' > $'c/new\nline.txt'
printf 'six\n' > "a b/.hidden"
printf 'seven\n' > $'c/caf\303\251.txt'
printf 'eight\n' > "c/hidden"
printf 'nine\n' > "*?.sh"
tar --sort=name --mtime=2025-01-01 -cf /app/upload.tar .
rm -r /tmp/up
