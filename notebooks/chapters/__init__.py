"""What stands behind the notebooks: samples, analysis, figures of a chapter. No chapter knows another."""
