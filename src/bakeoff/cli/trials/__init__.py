"""bakeoff test: one store, model, retriever or reader by itself."""
