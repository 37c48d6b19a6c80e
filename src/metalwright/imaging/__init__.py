"""Images and how they reach a disk: catalogue, image build, deploy ramdisk, boot media and the boot server."""
