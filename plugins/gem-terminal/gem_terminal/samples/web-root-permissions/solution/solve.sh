#!/bin/bash
set -e
cd /app/www
find . -type d -exec chmod 755 {} +
find . -type f -exec chmod 644 {} +
find cgi-bin -type f -name '*.cgi' -exec chmod 755 {} +
find private -type f -exec chmod 600 {} +
chmod 700 private
chmod 1777 uploads
