#!/bin/bash
awk 'length > length(best) { best = $0 } END { print best }' /app/names.txt > /app/longest.txt
