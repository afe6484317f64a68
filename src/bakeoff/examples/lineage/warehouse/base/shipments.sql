-- Parcels. An order that is split over sites has several.
CREATE TABLE base.shipments (
    shipment_id        BIGINT PRIMARY KEY,
    order_id           BIGINT NOT NULL,
    warehouse_id       SMALLINT NOT NULL,
    carrier            VARCHAR NOT NULL,
    service_level      VARCHAR NOT NULL
        CHECK (service_level IN ('economy', 'standard', 'express', 'pickup')),
    tracking_number    VARCHAR,
    weight_grams       INTEGER,
    carrier_cost_eur   DECIMAL(8, 2),
    label_created_at   TIMESTAMP NOT NULL,   -- UTC, as all times in this table
    handed_over_at     TIMESTAMP,
    first_attempt_at   TIMESTAMP,
    delivered_at       TIMESTAMP,
    lost_at            TIMESTAMP,
    returned_to_sender BOOLEAN NOT NULL DEFAULT FALSE
);
