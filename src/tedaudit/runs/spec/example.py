"""The spec that `tedaudit init` writes: runs as it is, and shows every setting."""

EXAMPLE = """\
# An audit: which texts, which rewriters, which adversaries. Run it with: tedaudit run audit.yaml
# The same command resumes; more trials, epsilons or attacks extend what is there.
name: example

corpus:                  # `tedaudit ls corpora` lists the others
  name: demo
# corpus: {name: files, path: my_texts.csv, column: text}      # in the place of the two lines above

mechanisms:              # `tedaudit ls mechanisms`; any key but name, label and epsilons is a field
  - name: identity       # must reach the ceiling
  - name: word-rr
    slots: 16
  # - name: py:my_package.my_module:my_function      # your own: text in, text out (this runs its code)
  # - {name: recorded, path: originals_and_rewrites.csv}

epsilons: [4, 8]         # nominal, per the mechanism's own unit

attacks:                 # `tedaudit ls attacks`
  - lexical
  # - {name: embedding, encoder: sentence-transformers/all-mpnet-base-v2}

plans:                   # candidate sets; lambda < 0 more diverse, 0 uniform, > 0 more similar
  - {k: 2, lambda: -10000}
  # - {k: all}
  # - {k: 2, strategy: furthest, top: 10}
  # - {k: 2, strategy: given, sets: [[0, 7], [3, 5]]}   # these texts, by position from 0
  # - {k: 2, estimator: baseline}
  # - {k: 2, author: author, texts: 2, knows: other}    # a column: who wrote up to 2 rewritten texts?
  # - {k: 2, releases: 8}                               # up to 8 rewrites of one text

trials: 2000
encoder: lexical         # whose distances the candidate sampling uses; any SentenceTransformer
alpha: 0.01              # the bound's one-sided error is half of it
seed: 0
# delta: 1.0e-5          # in the place of the claim's own
# batch_size: 4096       # draws or trials per call of a plug-in: memory, never results
# block: 0               # trials done and written together; 0: by their number
# engine: serial         # this process; or processes, ray: {name: processes, workers: 4}; never results
# out: runs/example      # the run directory; runs/NAME if nothing is said
"""
