//! Parts that do not belong together are refused or reported.
