cd /app/www
chmod 777 . css private cgi-bin
chmod 666 index.html private/keys.txt
chmod 777 css/old.cgi private/deep/more.cgi "uploads/a b.txt"
chmod 600 css/site.css
chmod 700 uploads/2025
