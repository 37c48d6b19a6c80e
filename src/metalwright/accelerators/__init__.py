"""What accelerators and their tools say, and which driver stack they need (pure: no I/O but the package's own data).

One module a format: ``nvidia_smi`` (``nvidia-smi -q -x``), ``rocm_smi`` and ``amd_smi`` (``--json``), ``dcgm``
(``dcgmi diag -j``), ``xid`` (kernel log), ``nccl_tests`` (NCCL's and RCCL's tests). Every parser takes text, never
raises for what the text holds, and answers ``None`` for what the text does not say.
"""
