"""A small wiki in all the forms that WikiGame reads: a folder, a ZIM file, two kinds of servers.

The servers speak the routes of kiwix and of MediaWiki's API, and fail when told to.
"""

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from urllib.parse import parse_qs, quote, unquote, urlsplit

ZIM = "sample_wiki"
REDIRECTS = {"The Old Name": 0}
"""Names that lead to another page, by its position."""
MEANINGS = "Crossing (disambiguation)"


def sample_pages(count=60, seed=0):
    """Return a wiki: by title, the text and the titles of the links."""
    from gem_games.wikigame.world import make_world
    from gem_games.wikigame.world_facts import draw_facts

    graph = make_world(draw_facts(Random(seed), "test", count, 6, 0.05))
    pages = [graph.page(label) for label in graph.labels]
    return {page.title: (page.text, list(page.links)) for page in pages}


def write_folder(folder, pages):
    """Write a wiki as Wikispeedia's files."""
    texts = folder / "plaintext_articles"
    texts.mkdir(parents=True)
    names = {title: quote(title.replace(" ", "_")) for title in pages}
    lines = [
        f"{names[one]}\t{names[other]}" for one, (_, links) in pages.items() for other in links
    ]
    articles = "\n".join(names.values())
    (folder / "articles.tsv").write_text(f"# The articles.\n\n{articles}\n", encoding="utf-8")
    (folder / "links.tsv").write_text("# The links.\n\n" + "\n".join(lines) + "\n")
    for title, (text, _) in pages.items():
        path = texts / f"{names[title]}.txt"
        path.write_text(f"#{title}\n\n{text}\n", encoding="utf-8")
    return folder


def html(title, text, links):
    """Return a page as a scraper of wikis writes it."""
    items = "".join(f'<li><a href="{quote(path_of(one))}">{one}</a></li>' for one in links)
    return (
        f"<!doctype html><html><head><title>{title}</title><style>p {{}}</style></head><body>"
        f"<p>{text}<sup>[1]</sup></p><table><tr><td><p>No text.</p></td></tr></table>"
        f'<ul>{items}</ul><a href="https://example.org/x">a site</a><a href="#top">up</a>'
        f'<a href="_assets_/style.css">style</a></body></html>'
    )


def forwarding(target):
    """Return a page that forwards to another."""
    return f'<html><head><meta http-equiv="refresh" content="0; url={quote(target)}"></head></html>'


def meanings(options):
    """Return a page that only lists the meanings of a name."""
    links = "".join(f'<a href="{quote(path_of(one))}">{one}</a>' for one in options)
    return (
        f'<html><head><title>Crossing</title></head><body><div id="disambigbox">{links}</div>'
        f"</body></html>"
    )


def path_of(title):
    """Return the path of a page."""
    return title.replace(" ", "_")


def write_zim(path, pages):
    """Write a wiki as a ZIM file, with a redirect, a page of meanings and an image."""
    from libzim.writer import Creator, Hint, Item, StringProvider

    class Entry(Item):
        def __init__(self, path, title, content, mimetype="text/html"):
            super().__init__()
            self.all = path, title, content, mimetype

        def get_path(self):
            return self.all[0]

        def get_title(self):
            return self.all[1]

        def get_mimetype(self):
            return self.all[3]

        def get_contentprovider(self):
            return StringProvider(self.all[2])

        def get_hints(self):
            return {Hint.FRONT_ARTICLE: self.all[3] == "text/html"}

    titles = list(pages)
    with Creator(path).config_indexing(True, "eng") as creator:
        for title, (text, links) in pages.items():
            creator.add_item(Entry(path_of(title), title, html(title, text, links)))
        creator.add_item(Entry("logo.png", "Logo", "not an image", "image/png"))
        creator.add_item(Entry(path_of(MEANINGS), MEANINGS, meanings(["Nowhere", titles[3]])))
        for name, number in REDIRECTS.items():
            creator.add_redirection(path_of(name), name, path_of(titles[number]), {})
        creator.set_mainpath(path_of(titles[0]))
        creator.add_metadata("Language", "eng")
    return path


class Wiki:
    """A server of a wiki on a free port of this machine; a context manager.

    ``failures`` are what happens to the next requests instead of an answer: a status such as 500,
    ``hang`` (no answer until the server is closed) or ``drop`` (the connection is closed).
    ``requests`` are the addresses that were asked for.
    """

    path = ""

    def __init__(self, pages):
        self.pages = pages
        self.titles = list(pages)
        self.failures = deque()
        self.requests = []
        self._closing = threading.Event()
        wiki = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                wiki.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{self.path}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._closing.set()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()

    def answer(self, handler):
        """Answer a request, or fail."""
        self.requests.append(handler.path)
        failure = self.failures.popleft() if self.failures else None
        if failure == "hang":
            self._closing.wait(60)
            return
        if failure == "drop":
            handler.close_connection = True
            return
        status, headers, body = (failure, {}, "broken") if failure else self.respond(handler.path)
        try:
            handler.send_response(status)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(body.encode())
        except OSError:
            pass  # the client has gone

    def respond(self, path):
        """Return status, headers and body."""
        raise NotImplementedError


class KiwixWiki(Wiki):
    """A server of kiwix."""

    has_index = True

    def respond(self, path):
        parts = urlsplit(path)
        query = parse_qs(parts.query, keep_blank_values=True)
        fields = {name: values[0] for name, values in query.items()}
        if parts.path.startswith(f"/raw/{ZIM}/content/"):
            return self._page(unquote(parts.path.removeprefix(f"/raw/{ZIM}/content/")))
        if parts.path.startswith(f"/content/{ZIM}/"):
            return self._page(unquote(parts.path.removeprefix(f"/content/{ZIM}/")))
        if parts.path == "/random" and fields["content"] == ZIM:
            return 302, {"Location": f"/content/{ZIM}/{quote(path_of(self.titles[5]))}"}, ""
        if parts.path == "/search" and fields["content"] == ZIM:
            return self._search(fields["pattern"])
        return 404, {}, "nothing here"

    def _page(self, path):
        title = path.replace("_", " ")
        if title in REDIRECTS:
            return 200, {}, forwarding(path_of(self.titles[REDIRECTS[title]]))
        if title == MEANINGS:
            return 200, {}, meanings(["Nowhere", self.titles[3]])
        if title not in self.pages:
            return 404, {}, "nothing here"
        return 200, {"Content-Type": "text/html; charset=utf-8"}, html(title, *self.pages[title])

    def _search(self, pattern):
        if not self.has_index:
            return 404, {}, "no index"
        words = pattern.lower().split()
        hits = [one for one in self.titles if any(word in one.lower() for word in words)]
        hits = hits or self.titles[len(pattern) : len(pattern) + 3]
        items = "".join(
            f'<li><a href="/content/{ZIM}/{quote(path_of(hit))}">{hit}</a></li>' for hit in hits
        )
        body = f'<html><body><a href="/">home</a><div class="results"><ul>{items}</ul></div></body>'
        return 200, {}, body


class MediaWiki(Wiki):
    """The API of a MediaWiki; it sends ``batch`` links at a time."""

    path = "/w/api.php"
    batch = 3

    def respond(self, path):
        query = parse_qs(urlsplit(path).query, keep_blank_values=True)
        fields = {name: values[0] for name, values in query.items()}
        wanted = {"action": "query", "format": "json", "formatversion": "2"}
        if urlsplit(path).path != self.path or any(fields.get(k) != v for k, v in wanted.items()):
            return 404, {}, "nothing here"
        answer = self._listed(fields) if "list" in fields else self._page(fields)
        return 200, {"Content-Type": "application/json"}, json.dumps(answer)

    def _listed(self, fields):
        if fields["list"] == "search":
            words = fields["srsearch"].lower().split()
            hits = [one for one in self.titles if any(word in one.lower() for word in words)]
            return {"query": {"search": [{"title": hit} for hit in hits[:1]]}}
        after = sorted(title for title in self.titles if title >= fields["apfrom"])
        return {"query": {"allpages": [{"title": title} for title in after[:1]]}}

    def _page(self, fields):
        title = fields["titles"].replace("_", " ")
        if title in REDIRECTS:
            title = self.titles[REDIRECTS[title]]
        if title == MEANINGS:
            links = [{"title": "Nowhere"}, {"title": self.titles[3]}]
            page = {"title": title, "links": links, "pageprops": {"disambiguation": ""}}
            return {"query": {"pages": [page]}}
        if title not in self.pages:
            return {"query": {"pages": [{"title": title, "missing": True}]}}
        text, links = self.pages[title]
        first = int(fields.get("plcontinue", "0|0").partition("|")[2])
        end = first + self.batch
        page = {"title": title, "links": [{"title": one} for one in sorted(links)[first:end]]}
        if not first:
            page["extract"] = text
        answer = {"query": {"pages": [page]}}
        if end < len(links):
            answer["continue"] = {"plcontinue": f"1|{end}", "continue": "||"}
        return answer
