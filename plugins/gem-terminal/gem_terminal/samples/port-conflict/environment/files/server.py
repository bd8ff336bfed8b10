"""Answers every request with the name of the service: NAME PORT as arguments."""
import http.server
import sys

NAME, PORT = sys.argv[1], int(sys.argv[2])


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(NAME.encode() + b"\n")

    def log_message(self, *arguments):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
