-- Webhook log of the payment processors, stored as received.
-- Processors retry until they get a 200, so the same notice may arrive twice or more.
CREATE TABLE base.payments (
    notice_id             BIGINT PRIMARY KEY,
    payment_id            VARCHAR NOT NULL,
    order_id              BIGINT NOT NULL,
    event_type            VARCHAR NOT NULL
        CHECK (event_type IN ('authorised', 'captured', 'failed', 'voided', 'chargeback')),
    amount                DECIMAL(12, 2) NOT NULL,
    currency_code         VARCHAR(3) NOT NULL,
    processor             VARCHAR NOT NULL,
    processor_reference   VARCHAR,
    method                VARCHAR,                -- card, sepa, wallet, invoice
    card_country          VARCHAR(2),
    failure_code          VARCHAR,
    occurred_at           TIMESTAMP NOT NULL,
    received_at           TIMESTAMP NOT NULL
);
