"""``nvidia-smi -q -x`` of eight GPUs (synthetic): element names as the drivers 535 to 590 write them."""

from __future__ import annotations

from typing import Any

GPUS = 8
HEALTHY = {
    "pending": "No",
    "failure": "No",
    "uncorrected": 0,
    "lanes": "16x",
    "generation": 5,
    "slow": "Not Active",
    "ecc": "Enabled",
    "ecc_pending": "Enabled",
    "mig": "Disabled",
    "mig_pending": "Disabled",
    "fabric": "Completed",
    "cap": "700.00 W",
}


def nvidia_smi(*, gpus: int = GPUS, driver: str = "580.95.05", **changes: Any) -> str:
    """Healthy ones; ``changes`` (see ``HEALTHY``) are of GPU 3 alone."""
    listed = "".join(_gpu(index, HEALTHY | (changes if index == 3 else {})) for index in range(gpus))
    head = f"<driver_version>{driver}</driver_version><attached_gpus>{gpus}</attached_gpus>"
    return f'<?xml version="1.0" ?><nvidia_smi_log>{head}{listed}</nvidia_smi_log>'


def _gpu(index: int, facts: dict[str, Any]) -> str:
    return f"""<gpu id="00000000:{index:02X}:00.0"><product_name>NVIDIA H100 80GB HBM3</product_name>
<ecc_mode><current_ecc>{facts["ecc"]}</current_ecc><pending_ecc>{facts["ecc_pending"]}</pending_ecc></ecc_mode>
<mig_mode><current_mig>{facts["mig"]}</current_mig><pending_mig>{facts["mig_pending"]}</pending_mig></mig_mode>
<pci><pci_gpu_link_info>
<pcie_gen><max_link_gen>{facts["generation"]}</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen>
<link_widths><max_link_width>16x</max_link_width><current_link_width>{facts["lanes"]}</current_link_width></link_widths>
</pci_gpu_link_info></pci>
<fabric><state>{facts["fabric"]}</state><status>Success</status></fabric>
<ecc_errors><volatile><sram_uncorrectable_parity>0</sram_uncorrectable_parity>
<dram_uncorrectable>{facts["uncorrected"]}</dram_uncorrectable></volatile></ecc_errors>
<remapped_rows><remapped_row_corr>0</remapped_row_corr><remapped_row_unc>0</remapped_row_unc>
<remapped_row_pending>{facts["pending"]}</remapped_row_pending>
<remapped_row_failure>{facts["failure"]}</remapped_row_failure></remapped_rows>
<gpu_power_readings><current_power_limit>{facts["cap"]}</current_power_limit></gpu_power_readings>
<clocks_event_reasons><clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
<clocks_event_reason_hw_thermal_slowdown>{facts["slow"]}</clocks_event_reason_hw_thermal_slowdown>
</clocks_event_reasons></gpu>"""
