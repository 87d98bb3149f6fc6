#![no_std]
//! forbear
