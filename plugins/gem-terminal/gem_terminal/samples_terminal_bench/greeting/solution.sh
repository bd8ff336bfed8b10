#!/bin/bash
sed 's/.*/Hello, &!/' /app/names.txt > /app/greetings.txt
