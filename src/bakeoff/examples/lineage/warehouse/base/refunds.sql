-- Money given back, requested by customers or by the support desk.
-- line_number is empty when the whole order or a goodwill sum is meant.
CREATE TABLE base.refunds (
    refund_id       BIGINT PRIMARY KEY,
    order_id        BIGINT NOT NULL,
    line_number     SMALLINT,
    quantity        INTEGER,
    reason_code     VARCHAR NOT NULL
        CHECK (reason_code IN (
            'damaged', 'wrong_item', 'late', 'not_as_described',
            'changed_mind', 'goodwill', 'fraud'
        )),
    amount          DECIMAL(10, 2) NOT NULL CHECK (amount > 0),
    currency_code   VARCHAR(3) NOT NULL,
    goods_returned  BOOLEAN NOT NULL DEFAULT FALSE,
    requested_at    TIMESTAMP NOT NULL,
    approved_at     TIMESTAMP,
    rejected_at     TIMESTAMP,
    approved_by     VARCHAR
);
