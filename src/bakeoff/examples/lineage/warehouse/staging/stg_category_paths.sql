CREATE VIEW staging.stg_category_paths AS
WITH RECURSIVE tree AS (
    SELECT
        category_id,
        category_id AS root_category_id,
        category_name AS root_category_name,
        category_name AS full_path,
        1 AS depth
    FROM base.product_categories
    WHERE parent_category_id IS NULL

    UNION ALL

    SELECT
        child.category_id,
        parent.root_category_id,
        parent.root_category_name,
        parent.full_path || ' > ' || child.category_name,
        parent.depth + 1
    FROM base.product_categories AS child
    JOIN tree AS parent
        ON parent.category_id = child.parent_category_id
    WHERE parent.depth < 10      -- a loop in the tree must not hang the build
)
SELECT
    category_id,
    root_category_id,
    root_category_name,
    full_path,
    depth
FROM tree;
