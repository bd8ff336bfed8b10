#!/bin/bash
set -e
cd /app/site
newest=$(ls releases/*/DONE | cut -d/ -f2 | sort -V | tail -1)
ln -sfn "releases/$(basename "$(readlink current)")" previous
ln -sfn "releases/$newest" current
find . -xtype l -delete
