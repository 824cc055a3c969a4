"""Callbacks for `keras.Model.fit`. Nothing is imported here: `shardkit.reader` imports Keras only when it is used."""
