-- What we print at checkout: "arrives within n working days".
-- Agreed with each carrier once a year.
CREATE TABLE base.carrier_promises (
    carrier            VARCHAR NOT NULL,
    service_level      VARCHAR NOT NULL
        CHECK (service_level IN ('economy', 'standard', 'express', 'pickup')),
    country_code       VARCHAR(2) NOT NULL,
    promised_days      SMALLINT NOT NULL CHECK (promised_days BETWEEN 1 AND 20),
    penalty_eur        DECIMAL(6, 2) NOT NULL DEFAULT 0,
    contract_number    VARCHAR,
    valid_from         DATE NOT NULL,
    valid_to           DATE,
    negotiated_by      VARCHAR,
    PRIMARY KEY (carrier, service_level, country_code, valid_from)
);
