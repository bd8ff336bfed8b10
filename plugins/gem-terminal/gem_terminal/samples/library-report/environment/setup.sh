cd /app
python3 -c 'import sqlite3; sqlite3.connect("library.db").executescript(open("library.sql").read())'
rm library.sql
