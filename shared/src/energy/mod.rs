//! The ledger of a device that lives on harvested energy.
