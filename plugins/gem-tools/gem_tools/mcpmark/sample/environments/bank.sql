-- A small bank; every value follows from its number, so the state is the same everywhere.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'clerk') THEN
        CREATE ROLE clerk NOLOGIN;
    END IF;
END
$$;

CREATE TABLE clients (
    id integer PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL
);
INSERT INTO clients
SELECT n, 'Client ' || n, 'client' || n || '@example.org' FROM generate_series(1, 40) AS n;
-- Each of these is one of the clients above again.
INSERT INTO clients
SELECT 40 + n, 'Client ' || n * 3, '  Client' || n * 3 || '@Example.org ' FROM generate_series(1, 8) AS n;

CREATE TABLE accounts (
    id integer PRIMARY KEY,
    client_id integer NOT NULL REFERENCES clients,
    branch text NOT NULL,
    balance numeric(12, 2) NOT NULL
);
INSERT INTO accounts
SELECT n, n * 7 % 48 + 1, (ARRAY['north', 'south', 'west'])[n % 3 + 1], n * 137 % 2000 + 50
FROM generate_series(1, 90) AS n;

CREATE TABLE transfers (
    id integer PRIMARY KEY,
    source integer NOT NULL,
    target integer NOT NULL,
    amount numeric(12, 2) NOT NULL
);
INSERT INTO transfers
SELECT n,
    CASE WHEN n % 31 = 0 THEN 500 + n ELSE n * 13 % 90 + 1 END,
    CASE WHEN n % 41 = 0 THEN 700 + n ELSE n * 29 % 90 + 1 END,
    CASE WHEN n % 53 = 0 THEN -n ELSE n * 17 % 300 + 1 END
FROM generate_series(1, 300) AS n;

CREATE TABLE events (
    id integer PRIMARY KEY,
    payload jsonb NOT NULL
);
INSERT INTO events
SELECT n, jsonb_build_object(
    'kind', (ARRAY['login', 'payment', 'refund'])[n % 3 + 1],
    'device', jsonb_build_object('os', (ARRAY['android', 'ios'])[n % 2 + 1]),
    'amounts', (SELECT jsonb_agg(n * k % 50) FROM generate_series(1, n % 4) AS k))
FROM generate_series(1, 200) AS n;
