import http.server
import json
import os
from urllib.parse import parse_qs, urlsplit

with open(os.environ["GREETER_CONFIG"]) as file:
    CONFIG = json.load(file)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urlsplit(self.path)
        if parts.path != "/greet":
            self.send_error(404)
            return
        names = parse_qs(parts.query)["name"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{CONFIG['greeting']}, {names}!")


address = (CONFIG["host"], CONFIG["port"])
http.server.ThreadingHTTPServer(address, Handler).serve_forever()
