"""Which nominal epsilon gives a measured privacy: a target in, an interval of epsilons out.

Not to be confused with a calibration card, which describes an audit of one mechanism.
"""
