-- Daily cost exports of the advertising platforms.
-- Platforms restate the last days, so a day can be imported more than once.
CREATE TABLE base.ad_spend (
    spend_date      DATE NOT NULL,
    platform        VARCHAR NOT NULL
        CHECK (platform IN ('google', 'meta', 'pinterest', 'affiliate', 'influencer')),
    account_id      VARCHAR NOT NULL,
    campaign_name   VARCHAR NOT NULL,
    spend_amount    DECIMAL(12, 2) NOT NULL,
    currency_code   VARCHAR(3) NOT NULL,
    impressions     BIGINT,
    clicks          BIGINT,
    platform_conversions INTEGER,
    import_id       BIGINT NOT NULL,
    imported_at     TIMESTAMP NOT NULL,
    PRIMARY KEY (spend_date, platform, account_id, campaign_name, import_id)
);
