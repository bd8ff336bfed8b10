#!/bin/bash
# Usage: backup.sh SOURCE TARGET
source=$1
target=$2
name=$(basename $source)
mkdir $target
if [ ! -d $source ]; then
  echo "not a folder: $source"
fi
cd $source
tar -czf $target/$name.tar.gz --exclude=*.tmp *
ls | wc -l
