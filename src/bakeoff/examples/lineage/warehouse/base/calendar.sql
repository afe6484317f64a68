-- One row per day, 2019 to 2035. Holidays are those of the head office.
-- The financial year starts in February.
CREATE TABLE base.calendar (
    calendar_date     DATE PRIMARY KEY,
    is_business_day   BOOLEAN NOT NULL,
    holiday_name      VARCHAR,
    iso_year          SMALLINT NOT NULL,
    iso_week          SMALLINT NOT NULL CHECK (iso_week BETWEEN 1 AND 53),
    month_start       DATE NOT NULL,
    month_end         DATE NOT NULL,
    quarter_start     DATE NOT NULL,
    fiscal_year       SMALLINT NOT NULL,
    fiscal_period     SMALLINT NOT NULL CHECK (fiscal_period BETWEEN 1 AND 12),
    campaign_season   VARCHAR
);
