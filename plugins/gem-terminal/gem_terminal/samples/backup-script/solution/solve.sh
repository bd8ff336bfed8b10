#!/bin/bash
set -e
cat > /app/backup.sh <<'END'
#!/bin/bash
# Usage: backup.sh SOURCE TARGET
source=${1%/}
target=$2
name=$(basename "$source")
if [ ! -d "$source" ]; then
  echo "not a folder: $source" >&2
  exit 2
fi
mkdir -p "$target"
tar -czf "$target/$name.tar.gz" --exclude='*.tmp' -C "$(dirname "$source")" "$name"
tar -tzf "$target/$name.tar.gz" | grep -vc '/$'
END
