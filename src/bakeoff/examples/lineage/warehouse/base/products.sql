-- Article master from the product information system.
CREATE TABLE base.products (
    sku               VARCHAR PRIMARY KEY,
    product_name      VARCHAR NOT NULL,
    brand             VARCHAR,
    category_id       INTEGER NOT NULL,
    list_price_eur    DECIMAL(10, 2) NOT NULL,
    vat_class         VARCHAR NOT NULL
        CHECK (vat_class IN ('standard', 'food', 'book', 'exempt')),
    weight_grams      INTEGER,
    length_mm         INTEGER,
    width_mm          INTEGER,
    height_mm         INTEGER,
    country_of_origin VARCHAR(2),
    shelf_life_days   INTEGER,              -- only for tea, coffee and biscuits
    is_bundle         BOOLEAN NOT NULL DEFAULT FALSE,
    launched_on       DATE,
    discontinued_on   DATE,
    barcode           VARCHAR(13)
);
