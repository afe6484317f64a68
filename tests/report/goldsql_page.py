"""The page of S4-68, written from its description: it reads the exported files and nothing else."""

import os
from pathlib import Path

import pandas as pd
import streamlit as st

RESULTS = Path(os.environ["GOLDSQL_RESULTS"])

decision = pd.read_parquet(RESULTS / "benchmark_decision.parquet").iloc[0]
aggregate = pd.read_parquet(RESULTS / "aggregate_metrics.parquet").set_index("model")
categories = pd.read_parquet(RESULTS / "category_metrics.parquet")
queries = pd.read_parquet(RESULTS / "query_comparison.parquet")

st.metric("Recommendation", decision["recommendation"])
for column, model in zip(st.columns(2), ("minilm", "mika"), strict=True):
    column.metric(f"{model} MRR", f"{aggregate.loc[model, 'mean_mrr']:.3f}")
st.bar_chart(categories.pivot_table(index="category", columns="model", values="mrr"))
st.scatter_chart(queries, x="minilm_mrr", y="mika_mrr", color="category")
st.bar_chart(queries["winner"].value_counts())
try:
    review = pd.read_parquet(RESULTS / "human_review_details.parquet")
    st.bar_chart(review.groupby("model")["semantic_lift"].mean())
except FileNotFoundError:
    st.info("Human review not yet completed")
