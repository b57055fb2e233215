"""Sites: several places add up their summaries under masks, and one of them releases.

::

    study   what is asked, of whom; the public keys; a folder that all can reach
    masks   pairwise masks that cancel in the sum, and what seals a message
    parts   a site's sum under its masks; the combiner's sum of all, behind one charge

Who sees what is in masks.proof.md.
"""
