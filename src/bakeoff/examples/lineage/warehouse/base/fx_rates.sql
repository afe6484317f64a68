-- European Central Bank reference rates, fetched at 16:30 CET.
-- Nothing is published on weekends and TARGET holidays.
CREATE TABLE base.fx_rates (
    rate_date       DATE NOT NULL,
    currency_code   VARCHAR(3) NOT NULL,
    -- units of the currency for one euro, as the bank quotes it
    units_per_eur   DECIMAL(18, 8) NOT NULL CHECK (units_per_eur > 0),
    source          VARCHAR NOT NULL DEFAULT 'ecb',
    fetched_at      TIMESTAMP NOT NULL,
    is_correction   BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (rate_date, currency_code, fetched_at)
);
