-- A small store; every value follows from its number, so the state is the same everywhere.
CREATE TABLE customers (
    id integer PRIMARY KEY,
    name text NOT NULL,
    address text NOT NULL,
    joined_on date NOT NULL
);
INSERT INTO customers
SELECT n, 'Customer ' || n,
    (n * 3) || ' Mill Road, ' || (ARRAY['Ashford', 'Brigg', 'Calne', 'Derby', 'Ely'])[n % 5 + 1]
        || ', ' || (10000 + n * 17),
    date '2022-01-01' + n * 11 % 700
FROM generate_series(1, 60) AS n;

CREATE TABLE products (
    id integer PRIMARY KEY,
    name text NOT NULL,
    category text NOT NULL,
    price numeric(8, 2) NOT NULL,
    stock integer NOT NULL
);
INSERT INTO products
SELECT n, 'Product ' || n, (ARRAY['books', 'garden', 'kitchen', 'toys'])[n % 4 + 1],
    n * 7 % 50 + 0.99, 5 + n * 3 % 20
FROM generate_series(1, 20) AS n;

CREATE TABLE orders (
    id integer PRIMARY KEY,
    customer_id integer NOT NULL REFERENCES customers,
    ordered_on date NOT NULL,
    status text NOT NULL
);
INSERT INTO orders
SELECT n, n * n * 7 % 60 + 1, date '2024-01-01' + n * 13 % 366,
    CASE WHEN n % 9 = 0 THEN 'cancelled' WHEN n % 7 = 0 THEN 'open' ELSE 'paid' END
FROM generate_series(1, 400) AS n;

CREATE TABLE order_items (
    order_id integer NOT NULL REFERENCES orders,
    product_id integer NOT NULL REFERENCES products,
    quantity integer NOT NULL,
    PRIMARY KEY (order_id, product_id)
);
INSERT INTO order_items
SELECT n, (n * 11 + k * 5) % 20 + 1, (n + k) % 4 + 1
FROM generate_series(1, 400) AS n, generate_series(1, 3) AS k;
