cd /app/site
rm releases/1.10.0/DONE
ln -s /app/site/releases/1.2.0 current
ln -s releases/1.1.0 stable
ln -s ../gone.html releases/1.9.0/old.html
ln -s index.html releases/1.9.0/home.html
ln -s missing releases/1.10.2/extra
