"""The query-key matrix: W_qk by its factors, the sums both scores need, both scores, their random values, a picture.

Nothing here knows where weights come from. Only torch and numpy are needed; nothing is imported here, so that the
command line can name the conventions without them.
"""
