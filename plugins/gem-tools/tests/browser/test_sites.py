"""The sites without a browser: pages, forms, and the server that is a proxy."""

import copy
import json
import socket

import pytest

from gem_core.errors import ClosedError, DataError
from gem_tools.browser.sites import SITES, SiteServer, new_site
from gem_tools.browser.sites.app import Request

PATHS = {
    "shop": ("/", "/products/103", "/basket", "/checkout", "/orders"),
    "forum": ("/", "/rules", "/sign-in", "/threads/11"),
    "tickets": ("/", "/tickets/401"),
    "cottages": ("/", "/prices", "/cottages/31", "/bookings", "/booking/confirm"),
}


def new_app(site, seed=3):
    state = new_site(site, seed)
    return SITES[site](state["data"])


def get(app, path, *, cookies=None, **query):
    return app.respond(Request("GET", path, query, cookies=cookies or {}))


def post(app, path, *, cookies=None, **form):
    return app.respond(Request("POST", path, form=form, cookies=cookies or {}))


@pytest.mark.parametrize("site", SITES)
def test_a_site_follows_from_its_seed_and_is_json(site):
    assert new_site(site, 5) == new_site(site, 5) != new_site(site, 6)
    assert json.loads(json.dumps(new_site(site, 5))) == new_site(site, 5)


@pytest.mark.parametrize("site", SITES)
def test_looking_at_pages_changes_nothing(site):
    app = new_app(site)
    before = copy.deepcopy(app.data)
    for path in PATHS[site]:
        assert get(app, path).status in {200, 303}
        assert get(app, path) == get(app, path)
    assert app.data == before


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("number", ["0", "999999", "9" * 5000, "-1", "x", "%00", "1/2"])
def test_an_odd_address_is_a_page_that_says_so(site, number):
    app = new_app(site)
    before = copy.deepcopy(app.data)
    for path in ("products", "threads", "tickets", "cottages", "posts", number):
        for response in (get(app, f"/{path}/{number}"), post(app, f"/{path}/{number}/change")):
            assert response.status == 404
            assert "nothing at this address" in response.body
    assert get(app, "/", page=number).status == 200
    assert app.data == before


def test_what_a_user_writes_is_shown_as_text():
    app = new_app("tickets")
    post(app, "/tickets/401/comment", text="<script>alert(1)</script>")
    page = get(app, "/tickets/401").body
    assert "&lt;script&gt;" in page
    assert "<script" not in page


def test_a_checkout_names_every_error_and_orders_nothing():
    app = new_app("shop")
    post(app, "/products/103/add", quantity="1")
    refused = post(app, "/checkout", name="Lena", postcode="2041", delivery="drone")
    assert refused.status == 422
    for said in ("street", "town", "two capital letters", "kind of delivery"):
        assert said in refused.body
    assert not app.data["orders"]
    sent = {"name": "L", "street": "S", "postcode": "AB 2041", "town": "T", "delivery": "express"}
    assert post(app, "/checkout", **sent).location == "/orders"
    (order,) = app.data["orders"]
    assert order["products"] == {"103": 1}
    assert not app.data["basket"]


@pytest.mark.parametrize("quantity", ["", "0", "-1", "1.5", "999", "9999999"])
def test_a_basket_takes_what_is_in_stock(quantity):
    app = new_app("shop")
    assert post(app, "/products/103/add", quantity=quantity).status == 422
    assert not app.data["basket"]


def test_only_a_moderator_hides_and_only_the_author_edits():
    app = new_app("forum")
    number = next(
        post["id"]
        for thread in app.data["threads"]
        for post in thread["posts"]
        if post["author"] == "mira"
    )
    before = copy.deepcopy(app.data["threads"])
    mira, jonas = (
        post(app, "/sign-in", name=name, password=password).cookies
        for name, password in (("mira", "rhubarb-7"), ("jonas", "trowel-21"))
    )
    assert post(app, "/sign-in", name="jonas").status == 422
    for who in (None, mira, {"session": "s9"}):
        assert post(app, f"/posts/{number}/hide", cookies=who).status == 404
    for who in (None, jonas):
        assert post(app, f"/posts/{number}/edit", cookies=who, text="x").status == 404
        assert post(app, f"/posts/{number}/delete", cookies=who).status == 404
    assert app.data["threads"] == before
    assert post(app, f"/posts/{number}/hide", cookies=jonas).status == 303
    assert post(app, f"/posts/{number}/edit", cookies=mira, text="new").status == 303


def test_a_booking_needs_each_step():
    app = new_app("cottages", 5)
    assert post(app, "/booking/confirm").location == "/booking/contact"
    taken = app.data["cottages"][0]["taken"][0]
    for arrival, departure in (
        (taken, "2027-06-30"),
        ("2027-06-10", "2027-06-10"),
        ("2027-05-30", "2027-06-02"),
        ("soon", "later"),
        ("2027-06-10", "9999-12-31"),
    ):
        assert post(app, "/cottages/31/book", arrival=arrival, departure=departure).status == 422
    assert not app.data["draft"]
    assert not app.data["bookings"]


def test_an_unknown_site_is_named():
    with pytest.raises(DataError, match=r"no site 'shops'.*shop"):
        new_site("shops", 1)


def talk(server, text):
    port = int(server.proxy.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(text.encode("latin-1"))
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read().decode()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("GET http://site.test/ HTTP/1.1\r\n\r\n", "200"),
        ("GET http://site.test:81/ HTTP/1.1\r\n\r\n", "403"),
        ("GET http://localhost:8080/ HTTP/1.1\r\n\r\n", "403"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "403"),
        ("CONNECT example.com:443 HTTP/1.1\r\n\r\n", "403"),
        ("PUT http://site.test/ HTTP/1.1\r\n\r\n", "405"),
        ("GET http://[/ HTTP/1.1\r\n\r\n", ""),
        ("POST http://site.test/ HTTP/1.1\r\nContent-Length: -5\r\n\r\n", ""),
        ("POST http://site.test/ HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", ""),
        ("\r\n\r\n", ""),
        ("hello", ""),
    ],
)
def test_the_server_answers_for_its_site_alone(text, answer):
    server = SiteServer()
    server.state = new_site("shop", 1)
    said = talk(server, text)
    assert said.partition(" ")[2].startswith(answer)
    assert bool(said) == bool(answer)
    assert " 200 " in talk(server, "GET http://site.test/ HTTP/1.1\r\n\r\n")
    server.close()
    with pytest.raises(ClosedError):
        _ = server.state
