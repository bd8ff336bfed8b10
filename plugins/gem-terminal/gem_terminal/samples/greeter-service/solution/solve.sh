#!/bin/bash
set -e
cd /app
sed -i 's/services.json/service.json/' run.sh
sed -i 's/"8080"/8080/' config/service.json
sed -i 's/parse_qs(parts.query)\["name"\]/parse_qs(parts.query).get("name", ["world"])[0]/' service.py
sed -i "s/self.wfile.write(\(.*\))$/self.wfile.write(\1.encode())/" service.py
