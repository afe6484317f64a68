-- Owner: purchasing. Kept by hand in the ERP, exported nightly.
CREATE TABLE base.suppliers (
    supplier_id          INTEGER PRIMARY KEY,
    supplier_name        VARCHAR NOT NULL,
    legal_entity         VARCHAR,
    country_code         VARCHAR(2) NOT NULL,
    contact_email        VARCHAR,
    payment_terms_days   SMALLINT NOT NULL DEFAULT 30,
    lead_time_days       SMALLINT NOT NULL DEFAULT 14,
    invoice_currency     VARCHAR(3) NOT NULL,
    incoterm             VARCHAR(3)
        CHECK (incoterm IN ('EXW', 'FCA', 'FOB', 'CIF', 'DAP', 'DDP')),
    organic_certificate  VARCHAR,
    certificate_expires  DATE,
    is_active            BOOLEAN NOT NULL DEFAULT TRUE,
    onboarded_on         DATE NOT NULL
);
