#!/bin/sh
echo hit
