"""Raw answers, kept before they are read: journal with hash chain, content-addressed blobs."""
