"""Files of models: read strictly, and turned into what an Encoding is made of."""
