-- The shop's navigation tree. The root nodes have no parent.
-- Depth is at most five today, but nothing enforces it.
CREATE TABLE base.product_categories (
    category_id          INTEGER PRIMARY KEY,
    parent_category_id   INTEGER,
    category_name        VARCHAR NOT NULL,
    url_slug             VARCHAR NOT NULL,
    sort_order           SMALLINT NOT NULL DEFAULT 0,
    is_visible           BOOLEAN NOT NULL DEFAULT TRUE,
    seo_title            VARCHAR,
    seo_text             VARCHAR,
    created_at           TIMESTAMP NOT NULL,
    updated_at           TIMESTAMP NOT NULL,
    CHECK (parent_category_id IS NULL OR parent_category_id <> category_id)
);
