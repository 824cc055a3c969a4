wget x
