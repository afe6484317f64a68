-- Maintained by finance whenever a country changes its rates.
-- An open valid_to means: still in force.
CREATE TABLE base.vat_rates (
    country_code   VARCHAR(2) NOT NULL,
    vat_class      VARCHAR NOT NULL
        CHECK (vat_class IN ('standard', 'food', 'book', 'exempt')),
    rate           DECIMAL(5, 4) NOT NULL
        CHECK (rate BETWEEN 0 AND 0.5),
    valid_from     DATE NOT NULL,
    valid_to       DATE,
    legal_basis    VARCHAR,
    entered_by     VARCHAR NOT NULL,
    entered_at     TIMESTAMP NOT NULL,
    PRIMARY KEY (country_code, vat_class, valid_from),
    CHECK (valid_to IS NULL OR valid_to >= valid_from)
);
