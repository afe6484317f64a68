-- Sites that hold stock, own and third party.
CREATE TABLE base.warehouses (
    warehouse_id     SMALLINT PRIMARY KEY,
    warehouse_name   VARCHAR NOT NULL,
    operator         VARCHAR NOT NULL DEFAULT 'own',
    country_code     VARCHAR(2) NOT NULL,
    city             VARCHAR,
    time_zone        VARCHAR NOT NULL,      -- IANA name
    cutoff_time      TIME NOT NULL,         -- orders after it leave the next day
    pallet_places    INTEGER,
    is_bonded        BOOLEAN NOT NULL DEFAULT FALSE,
    cost_per_pick    DECIMAL(6, 3),
    opened_on        DATE NOT NULL,
    closed_on        DATE
);
