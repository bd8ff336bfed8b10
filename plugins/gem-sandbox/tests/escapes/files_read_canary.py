# Tries: to read a file of the host by its path.
# Success: a secret of the host is printed.
import host

print(open(host.SECRET_FILE).read())
