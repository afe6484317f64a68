-- Accounts as the shop backend stores them. Guest checkouts create an account too,
-- which is why one person often has several rows here.
CREATE TABLE base.customers (
    customer_id        BIGINT PRIMARY KEY,
    email              VARCHAR NOT NULL,
    full_name          VARCHAR,
    country_code       VARCHAR(2),
    language           VARCHAR(5) DEFAULT 'en',
    marketing_opt_in   BOOLEAN NOT NULL DEFAULT FALSE,
    loyalty_tier       VARCHAR
        CHECK (loyalty_tier IN ('none', 'copper', 'silver', 'gold')),
    signup_source      VARCHAR,
    date_of_birth      DATE,
    phone              VARCHAR,
    is_guest           BOOLEAN NOT NULL DEFAULT FALSE,
    is_internal        BOOLEAN NOT NULL DEFAULT FALSE,   -- staff and QA accounts
    created_at         TIMESTAMP NOT NULL,
    updated_at         TIMESTAMP NOT NULL,
    deleted_at         TIMESTAMP
);
