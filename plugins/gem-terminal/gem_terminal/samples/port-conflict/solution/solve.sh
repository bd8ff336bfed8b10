#!/bin/bash
set -e
cd /app/services
sed -i 's/^PORT=.*/PORT=8102/; s/:8102/:8103/; s/:8100/:8101/' orders.conf
printf 'NAME=users\nPORT=8103\n' > users.conf
