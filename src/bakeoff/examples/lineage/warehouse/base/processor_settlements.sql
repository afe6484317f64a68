-- Lines of the payout files that the processors drop on our SFTP each morning.
CREATE TABLE base.processor_settlements (
    settlement_line_id    BIGINT PRIMARY KEY,
    batch_id              VARCHAR NOT NULL,
    processor             VARCHAR NOT NULL,
    processor_reference   VARCHAR NOT NULL,
    line_type             VARCHAR NOT NULL
        CHECK (line_type IN ('sale', 'refund', 'chargeback', 'fee', 'adjustment')),
    gross_amount          DECIMAL(12, 2) NOT NULL,
    fee_amount            DECIMAL(12, 2) NOT NULL DEFAULT 0,
    net_amount            DECIMAL(12, 2) NOT NULL,
    currency_code         VARCHAR(3) NOT NULL,
    settled_on            DATE NOT NULL,
    bank_value_date       DATE,
    source_file           VARCHAR NOT NULL,
    file_row              INTEGER NOT NULL
);
