set -e
cd /app/data
put() { mkdir -p "$(dirname "$1")"; head -c "$2" /dev/zero > "$1"; }
put "north station/2024/raw.bin" 90000
put "north station/.cache/index" 70001
put north/log.txt 1200
put north/deep/er/still/deeper.bin 65000
put west/a.bin 50000
put west/b.bin 50500
put west/c.bin 49000
put .trash/old.bin 80000
put top.bin 51000
put east/small 10
truncate -s 120000 east/sparse.img
